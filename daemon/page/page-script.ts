/**
 * The script of the local page. When the daemon reports a new record, the script fetches the page again and replaces the
 * parts that changed. Without the script the page works, but does not update.
 */
export const pageScript = `"use strict";
(() => {
  const state = document.getElementById("live");
  if (!window.EventSource || !state) return;
  let waiting = false;
  let pauseMs = 500;

  const refresh = async () => {
    waiting = false;
    const began = performance.now();
    try {
      const answer = await fetch(location.pathname + location.search);
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = fresh.getElementById(part.id);
        // A part with keyboard focus is not replaced until the focus leaves it.
        if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue;
        const known = new Set(Array.from(part.querySelectorAll("tr[id]"), (row) => row.id));
        for (const row of next.querySelectorAll("tr[id]")) if (!known.has(row.id)) row.classList.add("new");
        for (const open of part.querySelectorAll("details[open]")) {
          const same = next.querySelector("#" + CSS.escape(open.id));
          if (same) same.open = true;
        }
        part.replaceChildren(...next.childNodes);
      }
    } catch {
      // The daemon is not reachable. The event source reports that itself.
    } finally {
      // Refreshes take at most a tenth of the daemon's time.
      pauseMs = Math.max(500, 10 * (performance.now() - began));
    }
  };
  const soon = () => {
    if (waiting || document.hidden) return;
    waiting = true;
    setTimeout(refresh, pauseMs);
  };

  let lost = false;
  const connect = () => {
    const events = new EventSource("/v1/events");
    for (const name of ["request", "limit.warning", "limit.reset"]) events.addEventListener(name, soon);
    events.addEventListener("open", () => {
      state.textContent = "Live";
      if (lost) soon();
      lost = false;
    });
    events.addEventListener("error", () => {
      state.textContent = "Not connected";
      lost = true;
      // After a response other than 200 the browser does not try again by itself.
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2_000);
    });
  };
  connect();
  document.addEventListener("visibilitychange", soon);
})();
`;
