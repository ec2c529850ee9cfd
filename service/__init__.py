"""samedeal: races at patience. Every entrant gets the very same two-pack deal."""
