/**
 * The local page's script: when the daemon says that something was metered, it asks for the page again and puts in what
 * changed. Without it the page shows all the same, as of when it was opened.
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
        // What somebody is reading with the keyboard stays as it is until they move on.
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
      // The daemon is gone for a moment: the event source finds out by itself.
    } finally {
      // Never more than a tenth of the daemon's time.
      pauseMs = Math.max(500, 10 * (performance.now() - began));
    }
  };
  const soon = () => {
    if (waiting || document.hidden) return;
    waiting = true;
    setTimeout(refresh, pauseMs);
  };

  let lost = false;
  const events = new EventSource("/v1/events");
  events.addEventListener("request", soon);
  events.addEventListener("open", () => {
    state.textContent = "Live";
    if (lost) soon();
    lost = false;
  });
  events.addEventListener("error", () => {
    state.textContent = "Not connected";
    lost = true;
  });
  document.addEventListener("visibilitychange", soon);
})();
`;
