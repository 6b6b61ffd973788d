"""The miners, one idea each; every one has its own prior confidence, and none reads anything but events."""

from slowwave.extraction.found import Miner
from slowwave.extraction.miners.answers import mine_answers
from slowwave.extraction.miners.arrows import mine_arrows
from slowwave.extraction.miners.assents import mine_assents
from slowwave.extraction.miners.coedits import mine_coedits
from slowwave.extraction.miners.conduct import mine_conduct
from slowwave.extraction.miners.constraints import mine_constraints
from slowwave.extraction.miners.conventions import mine_conventions
from slowwave.extraction.miners.corrections import mine_corrections
from slowwave.extraction.miners.decisions import mine_decisions
from slowwave.extraction.miners.explicit import mine_explicit
from slowwave.extraction.miners.habits import mine_habits
from slowwave.extraction.miners.insistence import mine_insistence
from slowwave.extraction.miners.languages import mine_languages
from slowwave.extraction.miners.manners import mine_manners
from slowwave.extraction.miners.options import mine_options
from slowwave.extraction.miners.outcomes import mine_outcomes
from slowwave.extraction.miners.preferences import mine_preferences
from slowwave.extraction.miners.recurrent import mine_recurrent
from slowwave.extraction.miners.remarks import mine_remarks
from slowwave.extraction.miners.requested import mine_requested
from slowwave.extraction.miners.routines import mine_routines
from slowwave.extraction.miners.standing import mine_standing
from slowwave.extraction.miners.surroundings import mine_surroundings
from slowwave.extraction.miners.taking_back import mine_taking_back
from slowwave.extraction.miners.tasks import mine_tasks
from slowwave.extraction.miners.versions import mine_versions

MINERS: tuple[Miner, ...] = (
    mine_taking_back,
    mine_explicit,
    mine_corrections,
    mine_preferences,
    mine_decisions,
    mine_constraints,
    mine_answers,
    mine_assents,
    mine_arrows,
    mine_manners,
    mine_surroundings,
    mine_habits,
    mine_languages,
    mine_insistence,
    mine_outcomes,
    mine_options,
    mine_routines,
    mine_conduct,
    mine_standing,
    mine_requested,
    mine_conventions,
    mine_tasks,
    mine_recurrent,
    mine_versions,
    mine_coedits,
    mine_remarks,
)

# what the miners call themselves in what they find
NAMES = (
    "answer",
    "arrow",
    "assent",
    "coedit",
    "conduct",
    "constraint",
    "convention",
    "correction",
    "decision",
    "explicit",
    "habit",
    "insistence",
    "languages",
    "manner",
    "option",
    "outcome",
    "preference",
    "recurrent",
    "remark",
    "requested",
    "retraction",
    "routine",
    "standing",
    "surroundings",
    "task",
    "version",
)

__all__ = ["MINERS", "NAMES"]
