"""Measurements of the running service; `make bench` writes them to `bench/results.md`.

One module a question. The server and the load generator are processes of their own, each on its
own core where there are two.
"""
