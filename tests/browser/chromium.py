"""A headless Chromium driven over a pipe (its own protocol, CDP): no package, no port. What it says of errors and requests is kept."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE = 60
"""Seconds until a browser that does not answer is given up."""
_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Home": 36}
_SETTLED = """new Promise((done) => {
  const mine = Promise.reject();
  addEventListener("unhandledrejection", function told(event) {
    if (event.promise !== mine) return;
    event.preventDefault();
    removeEventListener("unhandledrejection", told);
    done();
  });
})"""
"""A rejection is told in a task of its own, in their order: when one of ours is, all before it were."""


class Chromium:
    """One browser with one page of 1440 by 900 dots, as a context manager."""

    def __enter__(self) -> Chromium:
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        words = [
            str(PATH),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._home.name}",
        ]
        words += ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session, self._looked_at, self.events = 0, b"", None, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._home.cleanup()

    @contextlib.contextmanager
    def dark(self, media: str = "") -> Iterator[None]:
        """Show the page as one likes it who prefers the dark, on a screen or in other media, and as before behind that."""
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark"}])
        try:
            yield
        finally:
            self.call("Emulation.setEmulatedMedia", media="", features=[])

    def call(self, method: str, **parameters: object) -> dict:
        """Return what the browser answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": self._session} if self._session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict:
        until = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready = select.select([self._read], [], [], max(0, until - time.monotonic()))[0]
            assert ready, f"no answer of the browser within {_PATIENCE} s"
            self._rest += os.read(self._read, 1 << 16)
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, path: pathlib.Path, fragment: str = "") -> None:
        """Show a page of perwiz from disk, and wait until it is drawn."""
        self.visit(f"{path.as_uri()}?{self._number}{fragment}")

    def look_at(self, path: pathlib.Path) -> None:
        """Show a page of perwiz as `open` does, or leave it there if it was only looked at since: for who changes nothing of it."""
        if self._looked_at != path:
            self.open(path)
            self._looked_at = path

    def visit(self, address: str) -> None:
        """Show the page of perwiz at an address, and wait until it is drawn."""
        self.go(address)
        self.until("document.documentElement && document.documentElement.dataset.ready")

    def go(self, address: str) -> None:
        """Load what is at an address, which is not that of the page before; what that says, also meanwhile, is forgotten."""
        self._looked_at = None
        answer = self.call("Page.navigate", url=address)
        assert "loaderId" in answer, f"nothing was loaded: {address}"
        while not self._begins(answer["loaderId"]):
            self.events.append(self._next())

    def _begins(self, loader: str) -> bool:
        """Forget what was said before the page of a loader took the place of the one before, and return whether it has."""
        for number, event in enumerate(self.events):
            if event.get("method") == "Page.frameNavigated" and event["params"]["frame"]["loaderId"] == loader:
                del self.events[: number + 1]
                return True
        return False

    def run(self, expression: str) -> object:
        """Return the value of a JavaScript expression, awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> object:
        """Return the value of an expression once it is true."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            value = self.run(expression)
            if value:
                return value
            self.frame()
        raise AssertionError(f"never true: {expression}; {self.complaints()}")

    def frame(self) -> None:
        """Wait until what was asked for is painted."""
        self.run("new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 50); })")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """Move, press, release or turn the mouse: mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        button = {"button": "left", "clickCount": 1} if kind in ("mousePressed", "mouseReleased") else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button, **more)

    def click(self, x: float, y: float) -> None:
        """Click at a point of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)
        self.frame()

    def click_on(self, selector: str, number: int = 0) -> None:
        """Click the middle of an element."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.run(f"{found}.scrollIntoView({{block: 'nearest'}})")
        self.click(*self.run(f"(() => {{ const r = {found}.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"))

    def key(self, name: str) -> None:
        """Press a key, a character or a name such as Enter, and wait until what it does is painted."""
        self.press(name)
        self.frame()

    def press(self, name: str) -> None:
        """Press a key."""
        more = {"windowsVirtualKeyCode": _KEYS[name]} if name in _KEYS else {"text": name}
        more |= {"text": "\r"} if name == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def type(self, text: str) -> None:
        """Write a text where the focus is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: pathlib.Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Return errors and whatever else the page wrote to the console, promises that nobody caught until now among them."""
        self.run(_SETTLED)
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [json.dumps(event["params"])[:500] for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Return the addresses asked for, the page itself left out."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if one["type"] != "Document"]
