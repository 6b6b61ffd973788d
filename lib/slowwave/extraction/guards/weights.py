"""How much each role at each place speaks for somebody else: from ``tests/quality/fit_voices.py``."""

BIAS = -0.37

# fmt: off
PLACES: dict[str, dict[str, float]] = {
    "above all": {
        "chat": -0.21, "dated": 1.33, "greeting": 0.29, "head": 1.46,
    },
    "above": {
        "any": 0.31, "line": 0.31,
    },
    "after": {
        "1ahead": 0.39, "1ask": 0.43, "1greet": 0.41, "1handle": 0.24, "1judge": 0.63, "1lead": -0.63, "1me": -0.15,
        "1mine": -0.57, "1say": 0.62, "1sign": 0.71, "1text": -0.47, "1this": 0.27, "1topic": 0.19, "1who": 0.28,
        "1will": 1.35, "1you": 0.21, "ahead": -0.66, "any": -0.29, "asks": -0.18, "cap": -0.21, "chat": 0.81,
        "code": -1.74, "credit": 1.18, "dash": 1.5, "dated": 0.18, "ends_say": -0.28, "ends_text": 0.4,
        "ends_this": 0.8, "from_who": -0.14, "greeting": 0.26, "handle": -0.11, "handles_thing": -0.85,
        "handles_this": 1.1, "judge": 1.84, "judges_this": 0.31, "leads": -0.71, "long": -2.13, "low": -0.38,
        "me": 0.2, "me_get": 0.4, "me_say": -0.18, "me_send": -0.16, "me_will": -1.13, "middle": 0.65, "mine": 0.65,
        "my_text": 0.24, "name": 0.74, "new_text": 0.81, "open": 0.5, "other_say": 0.37, "other_send": -0.17,
        "reshapes": 0.58, "sample": -0.9, "say": 0.75, "send": 0.77, "short": 0.76, "signing": -0.31, "speaker": 0.36,
        "text": -0.17, "the_text": 1.11, "theirs": 0.56, "unknown": -0.95, "wants": -0.38, "who": 0.31, "will": 0.54,
        "work": -0.76, "you": -0.45,
    },
    "alone": {
        "": -0.21,
    },
    "before": {
        "1ahead": 0.2, "1ask": -0.65, "1greet": 1.01, "1handle": 0.64, "1judge": 0.31, "1lead": -0.58, "1me": -0.6,
        "1sample": 1.02, "1sign": 0.49, "1text": 0.99, "1this": -0.3, "1topic": -0.87, "1who": 0.27, "1will": 0.72,
        "1work": 0.29, "1you": 0.17, "ahead": 1.92, "any": -0.58, "asks_you": 0.37, "cap": -0.25, "chat": -0.26,
        "code": -0.9, "ends_say": 0.72, "ends_text": -0.12, "from_who": -0.29, "get": 0.87, "greeting": -0.21,
        "handle": 0.19, "handles_thing": -0.62, "handles_this": 1.25, "judge": 0.24, "judges_this": 1.02,
        "leads": -0.56, "line": 0.37, "long": -1.63, "low": -0.84, "mark \n": 0.48, "mark !": -0.3, "mark (": -0.28,
        "mark .": -0.83, "mark :": 0.99, "me": -0.14, "me_get": 0.35, "me_send": -0.3, "me_will": -0.57, "mine": 0.15,
        "my_text": 0.43, "new_text": 0.9, "open": 0.48, "other_say": -0.31, "other_send": -0.13, "say": 0.36,
        "short": -0.75, "source": 0.25, "text": 0.24, "the_text": 1.0, "theirs": 1.37, "this": 0.69, "unknown": 0.63,
        "who": 0.88, "work": -1.71, "you": -0.98,
    },
    "below all": {
        "chat": -0.54, "credit": 1.53, "name": 0.84, "signing": 0.75, "speaker": 0.44,
    },
    "cue above, apart": {
        "ends_text": -0.82, "from_text": -0.28, "other_say": 0.17,
    },
    "cue above, line": {
        "1lead": -0.9, "1me": -0.86, "1work": -0.26, "ahead": 0.7, "asks": 1.04, "chat": 0.69, "code": -0.58,
        "ends_say": 0.16, "ends_text": -0.13, "from_text": 0.42, "from_who": 0.34, "greeting": -0.5,
        "handles_thing": -0.56, "handles_this": 1.28, "judges_this": 0.31, "leads": 0.31, "me_get": 0.28,
        "new_text": 0.58, "other_say": 0.6, "other_send": -0.29, "reshapes": 1.63, "source": 0.81, "speaker": 1.13,
        "the_text": 1.18, "theirs": 1.51,
    },
    "cue above, next paragraph": {
        "1me": 0.13, "1work": 0.9, "ahead": 0.97, "asks": 0.2, "chat": -0.72, "ends_say": 0.48, "ends_text": 0.69,
        "from_text": 0.31, "from_who": 0.35, "greeting": 0.3, "head": 0.65, "leads": -0.86, "my_text": 0.25,
        "new_text": 0.51, "other_say": 0.67, "other_send": 0.7, "the_text": 0.54, "theirs": 0.25,
    },
    "cue above": {
        "1lead": -0.33, "1work": -0.72, "ahead": 0.41, "asks": -0.22, "code": -1.88, "ends_say": 1.13,
        "ends_text": 0.46, "from_who": 0.26, "greeting": 0.26, "handles_this": 0.65, "head": 0.39, "me_get": 0.18,
        "my_text": 0.35, "new_text": 0.9, "other_say": 0.13, "other_send": -0.11, "speaker": -0.29, "the_text": 0.76,
        "theirs": 0.78,
    },
    "cue below, apart": {
        "1work": -0.24,
    },
    "cue below, line": {
        "1lead": 0.22, "1me": -0.1, "1work": -0.82, "ahead": -0.52, "asks": 0.71, "chat": -0.11, "code": -0.18,
        "ends_text": 1.42, "from_text": 0.65, "from_who": -0.38, "handles_thing": -0.22, "handles_this": 0.43,
        "judges_this": -0.59, "leads": -0.43, "me_get": 0.26, "my_text": -0.25, "new_text": 0.76, "other_say": 0.88,
        "reshapes": 0.27, "source": -0.14, "the_text": 0.55, "theirs": 0.59,
    },
    "cue below, next paragraph": {
        "1me": 0.35, "1work": -0.6, "ahead": -0.43, "asks": 0.23, "chat": 0.33, "credit": 1.08, "ends_say": 0.5,
        "ends_text": 1.18, "from_text": 0.8, "from_who": 0.36, "handles_thing": -0.16, "handles_this": 0.78,
        "judges_this": -0.1, "leads": -0.49, "me_get": 0.59, "me_say": -0.51, "my_text": 0.15, "new_text": 0.16,
        "other_say": 1.02, "reshapes": 0.12, "source": 0.12, "the_text": 0.5, "theirs": 0.26,
    },
    "cue below": {
        "1lead": 0.13, "1work": -0.43, "asks": 0.94, "credit": 0.39, "ends_say": 0.53, "ends_text": 1.34,
        "from_text": -0.24, "from_who": -0.26, "greeting": 0.41, "handles_this": 0.75, "judges_this": 0.63,
        "leads": 0.11, "me_get": -0.17, "me_say": -0.13, "new_text": 0.73, "other_say": -0.71, "other_send": -0.16,
        "reshapes": 0.29, "source": 0.29, "speaker": 0.28, "theirs": 0.26,
    },
    "first": {
        "": -1.05,
    },
    "follows, line": {
        "theirs": 1.26,
    },
    "follows, next paragraph": {
        "theirs": 0.42,
    },
    "follows": {
        "theirs": 0.48,
    },
    "itself": {
        "1ask": -1.72, "1handle": -0.54, "1me": -0.2, "1this": 0.82, "asks_you": -0.76, "chat": -0.75, "dash": -1.23,
        "ends_say": -0.14, "ends_text": -0.23, "ends_this": -0.25, "from_who": -0.82, "greeting": -0.15,
        "judges_this": 0.39, "leads": -0.47, "low": -0.39, "name": -0.55, "other_say": 1.16, "other_send": -0.61,
        "quoted": 3.54, "reshapes": 0.15, "source": 1.87, "the_text": -0.11, "theirs": -0.49,
    },
    "last": {
        "": -0.13,
    },
    "later": {
        "1handle": 0.2, "1this": -0.34, "asks": 0.26, "credit": 0.35, "dash": 1.23, "judge": 1.26, "judges_this": 0.4,
        "other_say": 0.58, "signing": 0.56, "the_text": 0.55,
    },
    "lead": {
        "1ahead": 0.21, "1ask": 0.21, "1get": 0.57, "1handle": 1.21, "1judge": -0.41, "1lead": -1.3, "1me": -1.35,
        "1mine": 0.34, "1sample": 1.04, "1say": 0.41, "1send": -0.23, "1text": 0.75, "1this": -0.67, "1topic": -2.18,
        "1who": 1.21, "1work": -0.97, "1you": -0.64, "ahead": -0.83, "asks_you": -0.12, "cap": 0.23, "chat": 0.44,
        "code": 0.23, "dated": 0.46, "ends_say": 0.34, "ends_text": -0.34, "ends_this": 0.57, "from_text": 1.07,
        "from_who": 1.55, "get": 1.32, "handle": 0.81, "handles_this": 1.14, "judge": 1.12, "judges_this": 0.44,
        "leads": -1.39, "line": -0.58, "long": -1.13, "low": -0.33, "mark \n": -0.27, "mark :": -0.46,
        "mark quote": -0.71, "mark said": 0.76, "mark speaker": 1.04, "me": -0.54, "me_get": 1.18, "me_say": -0.99,
        "me_send": -0.38, "me_will": -0.99, "middle": 0.56, "mine": -0.68, "my_text": -0.44, "name": 0.53,
        "new_text": 0.58, "open": -0.27, "other_say": 0.97, "other_send": 0.72, "reshapes": 1.53, "sample": 2.54,
        "say": 0.61, "send": 0.57, "short": -0.44, "source": 0.33, "speaker": 1.04, "text": 1.4, "the_text": 1.11,
        "theirs": 0.53, "unknown": -0.26, "wants": 0.21, "who": 0.98, "will": -0.19, "work": -0.19, "you": -0.97,
    },
    "tail": {
        "any": -0.15, "quoted": -0.62,
    },
}
# fmt: on
