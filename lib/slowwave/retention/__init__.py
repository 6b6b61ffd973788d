"""What goes: retention by rules, purges, erasures, and the holds and the log that stand over all of them."""
