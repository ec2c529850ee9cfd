"""Commands: what players ask for and what time asks for, decided and made durable."""
