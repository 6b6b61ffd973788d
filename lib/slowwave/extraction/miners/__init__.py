"""The miners, one idea each; every one has its own prior confidence, and none reads anything but events."""

from slowwave.extraction.found import Miner
from slowwave.extraction.miners.answers import mine_answers
from slowwave.extraction.miners.constraints import mine_constraints
from slowwave.extraction.miners.corrections import mine_corrections
from slowwave.extraction.miners.decisions import mine_decisions
from slowwave.extraction.miners.explicit import mine_explicit
from slowwave.extraction.miners.habits import mine_habits
from slowwave.extraction.miners.insistence import mine_insistence
from slowwave.extraction.miners.languages import mine_languages
from slowwave.extraction.miners.outcomes import mine_outcomes
from slowwave.extraction.miners.preferences import mine_preferences
from slowwave.extraction.miners.routines import mine_routines
from slowwave.extraction.miners.surroundings import mine_surroundings

MINERS: tuple[Miner, ...] = (
    mine_explicit,
    mine_corrections,
    mine_preferences,
    mine_decisions,
    mine_constraints,
    mine_answers,
    mine_surroundings,
    mine_habits,
    mine_languages,
    mine_insistence,
    mine_outcomes,
    mine_routines,
)

__all__ = ["MINERS"]
