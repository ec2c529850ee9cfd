"""The socket: `connection` does the I/O, `session` decides what each frame means."""
