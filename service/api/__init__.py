"""The edges: REST and WebSocket. A handler parses, gives one command, encodes."""
