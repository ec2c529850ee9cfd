"""Deals and test vectors as data. Shipped as `service.seeds`."""
