"""Finding sessions again: filters over the rows of a listing, and a ranked search over what was said."""
