"""House bots: ordinary clients of the public API that see only their own board, and race.

`client` (with `socket`, `feed` and `messages`) is a client that anybody could write and use; what a
bot adds to it is a mind (`minds`) and a way about the lobbies (`house`).
"""
