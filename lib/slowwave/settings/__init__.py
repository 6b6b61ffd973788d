"""Settings: what can be set (`model`), and how file, environment and command line set it (`loading`)."""

from slowwave.settings.loading import ENV_PREFIX, SECTIONS, default_text, described, load_settings
from slowwave.settings.model import (
    CompactionSettings,
    ConsolidationSettings,
    ExtractionSettings,
    MemorySettings,
    ModelSettings,
    RetentionSettings,
    SecretsSettings,
    Settings,
    StoreSettings,
)

__all__ = [
    "ENV_PREFIX",
    "SECTIONS",
    "CompactionSettings",
    "ConsolidationSettings",
    "ExtractionSettings",
    "MemorySettings",
    "ModelSettings",
    "RetentionSettings",
    "SecretsSettings",
    "Settings",
    "StoreSettings",
    "default_text",
    "described",
    "load_settings",
]
