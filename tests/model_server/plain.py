"""A question in plain text, as clients without a schema ask it."""

from urllib.request import Request, urlopen

import orjson

_SECONDS = 180


def told(base_url: str, system: str, prompt: str, most_tokens: int) -> str:
    """Return what a model answers.

    Raises:
        OSError: it does not answer.
    """
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    body = orjson.dumps({"model": "local", "messages": messages, "max_tokens": most_tokens, "temperature": 0})
    asked = Request(f"{base_url}/chat/completions", body, {"Content-Type": "application/json"})
    with urlopen(asked, timeout=_SECONDS) as answer:
        return str(orjson.loads(answer.read())["choices"][0]["message"]["content"])
