"""Seeing what happens: a history of nights, the report of a night, alarms, progress, logs, traces and metrics.

Everything here is made of recorded facts (:mod:`slowwave.observability.night`); nothing in it changes what a job does,
and where it cannot write or send, that is one more warning of the run and never costs the night.
"""
