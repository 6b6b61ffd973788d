"""Chromium driven by its own protocol over two pipes: pages that load their data, clicks, and what went wrong.

``tests.browser`` draws a page that is whole when it is loaded. The pages of Prefect fetch what they show, so here one
waits for a condition inside the page, and every request, exception and message of the console is kept.
"""

import base64
import json
import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tests.browser import CHROMIUM, NOBODY, Scheme

FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-default-apps", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--remote-debugging-pipe"),
]
WAIT_S = 180


class Page:
    """One tab: where it is led, what it asked the network for, and what broke in it."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes]) -> None:
        self._orders, self._answers = orders, answers
        self._asked, self._session = 0, ""
        self.requests: dict[str, str] = {}
        self.wrong: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Give one order and return its answer; what happens meanwhile is noted."""
        self._asked += 1
        order = {"id": self._asked, "method": method, "params": params}
        if self._session:
            order["sessionId"] = self._session
        self._orders.write(json.dumps(order).encode() + b"\0")
        self._orders.flush()
        for message in self._messages():
            if message.get("id") == self._asked:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self._note(message.get("method", ""), message.get("params", {}))
        raise AssertionError(f"Chromium ended at {method}")

    def _messages(self) -> Iterator[dict[str, Any]]:
        text = bytearray()
        while byte := self._answers.read(1):
            if byte != b"\0":
                text += byte
                continue
            yield json.loads(text)
            text.clear()

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests[about["requestId"]] = about["request"]["url"]
        elif event == "Network.loadingFailed" and not about.get("canceled"):
            self.wrong.append(f"{about['errorText']}: {self.requests.get(about['requestId'])}")
        elif event == "Network.responseReceived" and about["response"]["status"] >= 400:
            self.wrong.append(f"{about['response']['status']}: {about['response']['url']}")
        elif event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.wrong.append(str(details.get("exception", {}).get("description") or details["text"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.wrong.append(f"console: {[one.get('value') or one.get('description') for one in about['args']]}")
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.wrong.append(f"log: {about['entry']['text']} {about['entry'].get('url', '')}")

    def hosts(self) -> set[str]:
        """Return whom the page has asked for anything."""
        return {host for url in self.requests.values() if (host := urlsplit(url).hostname)}

    def remembers(self, stored: Mapping[str, str]) -> None:
        """Let every page find this in its local storage, as after an earlier visit."""
        script = "".join(f"localStorage.setItem({json.dumps(k)},{json.dumps(v)});" for k, v in stored.items())
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=f"if(location.protocol==='http:'){{{script}}}")

    def go(self, address: str, *, width: int, height: int, scheme: Scheme = "light") -> None:
        """Open an address in a window of this size; :meth:`until` waits for what it shows."""
        # what is there now would be drawn in the new size first, and a list of Prefect's never comes to rest over that
        self.ask("Page.navigate", url="about:blank")
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.requests.clear()
        self.wrong.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """Return what a function body gives inside the page; it may wait."""
        answer = self.ask(
            "Runtime.evaluate", expression=f"(async()=>{{{script}}})()", awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait until a JavaScript expression holds inside the page, and return its value."""
        try:
            found = self._waited(condition)
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            found = self._waited(condition)  # a click led to another page meanwhile
        assert "it" in found, f"{condition} never held in a page that says {found['text'][:3000]!r}; {self.wrong}"
        return found["it"]

    def _waited(self, condition: str) -> dict[str, Any]:
        return self.run(
            f"const end=Date.now()+{WAIT_S * 1000};"
            f"for(;;){{const it=(()=>{{try{{return {condition}}}catch(e){{return null}}}})();if(it) return {{it}};"
            "if(Date.now()>end) return {text:document.body.innerText};await new Promise(next=>setTimeout(next,50))}"
        )

    def click(self, condition: str) -> None:
        """Click the middle of an element, as a person would, once it is there."""
        spot = self.until(
            f"((e)=>{{if(!e) return null;e.scrollIntoView({{block:'center'}});const b=e.getBoundingClientRect();"
            f"return b.width&&{{x:b.x+b.width/2,y:b.y+b.height/2}}}})({condition})"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **spot)

    def still(self) -> None:
        """Wait until nothing of the page has changed for a moment: data have come, and what faded in is there."""
        self.run(
            "let last=Date.now();const seen=new MutationObserver(()=>{last=Date.now()});"
            "seen.observe(document,{subtree:true,childList:true,attributes:true,characterData:true});"
            f"const end=Date.now()+{WAIT_S * 1000};"
            "while(Date.now()<end&&(Date.now()-last<700||document.getAnimations().some(a=>a.playState==='running'&&"
            "a.effect.getComputedTiming().iterations!==Infinity)))await new Promise(next=>setTimeout(next,50));"
            "seen.disconnect()"
        )

    def picture(self, target: Path, width: int, height: int) -> None:
        """Draw the upper left part of what the window shows into a PNG."""
        part = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", clip=part)
        target.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def a_page() -> Generator[Page]:
    """Run a Chromium with one tab until the end of the block."""
    orders, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    # it reads its orders from descriptor 3 and answers on 4, whatever their numbers are here
    renumbered = ["bash", "-c", f'exec "$@" 3<&{orders} 4>&{answers}', "bash"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [*renumbered, str(CHROMIUM), *FLAGS, NOBODY, f"--user-data-dir={home}"]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, pass_fds=(orders, answers), stdin=quiet, stdout=quiet, stderr=quiet)
        os.close(orders)
        os.close(answers)
        try:
            with os.fdopen(to_browser, "wb") as say, os.fdopen(from_browser, "rb") as hear:
                yield Page(say, hear)
        finally:
            # a browser whose pipe is closed ends by itself
            process.wait(30)
