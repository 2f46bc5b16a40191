// The script of all pages. Without it the pages work: it only saves page loads and adds keys, copies, pictures and live
// updates. It is not a module: a browser fetches modules with an Origin, which the local API refuses.

/** How long an answer may take before the page says that it is loading, in milliseconds. */
const BUSY_AFTER_MS = 300;
/** The shortest pause between two live updates, in milliseconds. Updates take at most a tenth of the server's time. */
const LIVE_PAUSE_MS = 500;
const RECONNECT_MS = 2_000;

/** @param {string} selector @param {ParentNode} [within] @returns {HTMLElement[]} */
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
/** @param {string} id */
const byId = (id) => document.getElementById(id);
/** @param {EventTarget | null} target @param {string} selector @returns {HTMLElement | null} */
const closest = (target, selector) => (target instanceof Element ? target.closest(selector) : null);
/** @param {string} text */
const announce = (text) => {
  const status = byId("status");
  if (status) status.textContent = text;
};

/** @type {AbortController | null} */
let loading = null;

/** @param {string} address @param {AbortSignal} signal */
const load = async (address, signal) =>
  parse(await fetch(address, { headers: { accept: "text/html" }, signal }));
/** @param {Response} answer */
const parse = async (answer) => {
  if (!/^text\/html/.test(answer.headers.get("content-type") ?? "")) throw new TypeError("not a page");
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};

/** Keeps what is open, marks new rows. @param {Element} old @param {Element} fresh @param {boolean} mark */
const carryOver = (old, fresh, mark) => {
  for (const open of all("details[open][id]", old))
    fresh.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
  if (!mark) return;
  const known = new Set(all("tr[id]", old).map((row) => row.id));
  for (const row of all("tr[id]", fresh)) if (!known.has(row.id)) row.classList.add("new");
};

/** The address of a view without the empty fields of a form, and without what a form did. @param {HTMLElement} main @param {string} address */
const shortAddress = (main, address) =>
  (/[?&](?:form|done)=/.test(address) && main.dataset.address) || address;

/** The address of the view, without its fragment. */
const viewAddress = () => location.pathname + location.search;
/** That of the view that is shown. */
let shown = "";

/** Shows another view of this page. @param {string} address @param {boolean} isNew */
const show = async (address, isNew) => {
  loading?.abort();
  const abort = (loading = new AbortController());
  const main = byId("main");
  const busy = setTimeout(() => main?.setAttribute("aria-busy", "true"), BUSY_AFTER_MS);
  try {
    const fresh = await load(address, abort.signal);
    const next = fresh.getElementById("main");
    if (!main || !next) throw new TypeError("no main");
    carryOver(main, next, false);
    const focus = document.activeElement?.id;
    main.replaceChildren(...next.childNodes);
    document.title = fresh.title;
    if (isNew) history.pushState(null, "", shortAddress(next, address));
    shown = viewAddress();
    prepare();
    (focus ? byId(focus) : null)?.focus({ preventScroll: true });
    announce(main.querySelector("[data-summary]")?.textContent ?? document.title);
  } catch {
    if (!abort.signal.aborted) location.assign(address);
  } finally {
    clearTimeout(busy);
    if (loading === abort) {
      loading = null;
      main?.removeAttribute("aria-busy");
    }
  }
};

/** @param {URL} url */
const isSameView = (url) =>
  url.origin === location.origin && url.pathname === location.pathname && !url.searchParams.has("format");

document.addEventListener("click", (event) => {
  const copy = closest(event.target, "[data-copy]");
  if (copy) return void copyText(copy.dataset.copy ?? "");
  const table = closest(event.target, "[data-markdown]");
  if (table) return void copyText(toMarkdown());
  const picture = closest(event.target, "[data-picture]");
  if (picture) return void savePicture(picture.dataset.picture === "png");
  if (closest(event.target, "#keys")) return switchKeys();
  const link = closest(event.target, "a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || event.defaultPrevented) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (!isSameView(url) || (url.hash && url.search === location.search)) return;
  event.preventDefault();
  void show(url.href, true);
});

/** The address of a form without its empty fields. @param {HTMLFormElement} form */
const addressOf = (form) => {
  const url = new URL(form.action);
  url.search = "";
  for (const [name, value] of new FormData(form))
    if (value !== "") url.searchParams.append(name, String(value));
  return url;
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "get" || !isSameView(addressOf(form))) return;
  event.preventDefault();
  void show(addressOf(form).href, true);
});
document.addEventListener("change", (event) => {
  const { target } = event;
  if (target instanceof HTMLSelectElement && target.form?.method === "get") target.form.requestSubmit();
});
addEventListener("popstate", () => {
  // A link within the page, such as the one to its contents, also ends here.
  if (viewAddress() === shown) loading?.abort();
  else void show(location.href, false);
});

/** @param {string} text */
const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    announce("The browser did not allow the copy.");
  }
};
// A figure that is copied is exact.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  const figure = closest(selection?.anchorNode?.parentElement ?? null, "data");
  if (!(figure instanceof HTMLDataElement) || selection?.toString().trim() !== figure.textContent?.trim())
    return;
  event.clipboardData?.setData("text/plain", figure.value);
  event.preventDefault();
});

const toMarkdown = () => {
  /** @param {HTMLElement} cell */
  // biome-ignore lint/performance/useDomNodeTextContent: what is hidden at this width is not copied.
  const text = (cell) => cell.innerText.replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
  const tables = all("main table").map((table) => {
    const [head = [], ...body] = all("tr", table).map((row) => all("th,td", row).map(text));
    const lines = [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`);
    return `${table.getAttribute("aria-label") ?? ""}\n\n${lines.join("\n")}`;
  });
  return [`## ${document.title}`, ...tables, location.href].join("\n\n");
};

// A saved picture: its size, and where the chart begins in it.
const [pictureWidth, pictureHeight, chartLeft, chartTop] = [1200, 600, 90, 90];
const [chartWidth, chartHeight] = [pictureWidth - chartLeft - 30, pictureHeight - chartTop - 100];

/** Creates an SVG element. @param {string} tag @param {Record<string, string | number | null>} attributes @param {string} [text] */
const createSvg = (tag, attributes, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
};

/** @param {number} x @param {number} y @param {string | null} text @param {Record<string, string | number>} [more] */
const createLabel = (x, y, text, more = {}) => {
  const fill = getComputedStyle(document.body).color;
  const font = { "font-family": "system-ui, sans-serif", "font-size": 15 };
  return createSvg("text", { x, y, fill, ...font, ...more }, text ?? "");
};

/** Copies a drawing, with the colours of its style sheet as attributes. @param {Element} drawn */
const copyDrawing = (drawn) => {
  const copy = /** @type {SVGSVGElement} */ (drawn.cloneNode(true));
  const originals = [drawn, ...all("*", drawn)];
  for (const [n, element] of [copy, ...all("*", copy)].entries()) {
    const seen = getComputedStyle(/** @type {Element} */ (originals[n]));
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"])
      element.setAttribute(name, seen.getPropertyValue(name));
    element.removeAttribute("class");
  }
  for (const [name, value] of Object.entries({
    x: chartLeft,
    y: chartTop,
    width: chartWidth,
    height: chartHeight,
  }))
    copy.setAttribute(name, String(value));
  return copy;
};

/** Draws the labels of both axes. @param {Element} figure */
const createAxes = (figure) => {
  const scale = all(".scale span", figure);
  const dates = all(".axis span", figure);
  return [
    ...scale.map((each, n) => {
      const y = chartTop + (chartHeight * n) / Math.max(1, scale.length - 1) + 5;
      return createLabel(chartLeft - 10, y, each.textContent, { "text-anchor": "end" });
    }),
    ...dates.map((each, n) => {
      const x = chartLeft + (chartWidth * n) / Math.max(1, dates.length - 1);
      const anchor = n === 0 ? "start" : n === dates.length - 1 ? "end" : "middle";
      return createLabel(x, chartTop + chartHeight + 24, each.textContent, { "text-anchor": anchor });
    }),
  ];
};

/** @param {Element} figure */
const createLegend = (figure) => {
  let x = chartLeft;
  return all(".legend li", figure).flatMap((each) => {
    const mark = each.querySelector("i,rect");
    const seen = mark && getComputedStyle(mark);
    const fill = seen ? (mark.localName === "i" ? seen.backgroundColor : seen.fill) : "none";
    const text = each.textContent?.trim() ?? "";
    const left = x;
    x += 50 + text.length * 8;
    return [
      createSvg("rect", { x: left, y: pictureHeight - 42, width: 12, height: 12, fill }),
      createLabel(left + 18, pictureHeight - 31, text),
    ];
  });
};

/** Draws the chart with its title, scale and legend. @param {Element} figure @param {Element} drawn */
const createPicture = (figure, drawn) => {
  const size = { width: pictureWidth, height: pictureHeight };
  const paper = createSvg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    ...size,
    viewBox: `0 0 ${pictureWidth} ${pictureHeight}`,
  });
  const fill = getComputedStyle(figure.closest(".panel") ?? figure).backgroundColor;
  const summary = document.querySelector("[data-summary]")?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  paper.append(
    createSvg("rect", { ...size, fill }),
    createLabel(24, 40, document.title, { "font-size": 22, "font-weight": 600 }),
    createLabel(24, 66, summary),
    copyDrawing(drawn),
    ...createAxes(figure),
    ...createLegend(figure),
  );
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(paper))}`;
};

/** Converts a picture from SVG to PNG. @param {string} source */
const toPng = async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [pictureWidth * 2, pictureHeight * 2];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
};

/** Saves the picture of the chart. @param {boolean} asPng */
const savePicture = async (asPng) => {
  const figure = document.querySelector("figure.chart");
  const drawn = figure?.querySelector("svg");
  if (!figure || !drawn) return;
  const source = createPicture(figure, drawn);
  const link = document.createElement("a");
  link.download = `${document.title.replace(/[^\p{L}\p{N}]+/gu, "-")}.${asPng ? "png" : "svg"}`;
  link.href = asPng ? await toPng(source) : source;
  link.target = "_self";
  link.click();
};

// Keys. WCAG 2.1.4: they can be switched off.
const KEYS_OFF = "meter.keys.off";
let areKeysOff = false;
try {
  areKeysOff = localStorage.getItem(KEYS_OFF) === "1";
} catch {
  // There is no storage.
}
const switchKeys = () => {
  areKeysOff = !areKeysOff;
  prepare();
  localStorage.setItem(KEYS_OFF, areKeysOff ? "1" : "0");
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    hideTip();
    return loading?.abort();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || areKeysOff) return;
  if (closest(event.target, "input,select,textarea,[contenteditable],.scroll")) return;
  const target = all("[data-key]").find((each) => each.dataset.key?.split(" ").includes(event.key));
  if (!target) return;
  event.preventDefault();
  if (target.matches("a,button")) target.click();
  else target.focus();
});

// Descriptions of marks stay while the pointer is on either.
/** @type {HTMLElement | null} */
let tip = null;
const hideTip = () => {
  tip?.remove();
  tip = null;
};
document.addEventListener("pointerover", (event) => {
  if (closest(event.target, "#tip")) return;
  hideTip();
  const mark = closest(event.target, "[data-tip]");
  if (!mark) return;
  tip = document.createElement("div");
  tip.id = "tip";
  tip.textContent = mark.dataset.tip ?? mark.getAttribute("data-tip");
  document.body.append(tip);
  const [box, own] = [mark.getBoundingClientRect(), tip.getBoundingClientRect()];
  tip.style.left = `${Math.max(4, Math.min(innerWidth - own.width - 4, box.left + box.width / 2 - own.width / 2))}px`;
  tip.style.top = `${Math.max(4, Math.min(box.top, event.clientY) - own.height - 8)}px`;
});
addEventListener("scroll", hideTip, { passive: true });

// Live parts.
let waiting = false;
let pauseMs = LIVE_PAUSE_MS;
/** The address of the last live update, and the validator of its answer. */
let [refreshed, etag] = ["", ""];
const refresh = async () => {
  waiting = false;
  if (loading || document.hidden) return;
  const began = performance.now();
  const address = location.href;
  try {
    const answer = await fetch(address, {
      headers: { accept: "text/html", ...(refreshed === address && etag && { "if-none-match": etag }) },
    });
    // For example to the sign-in page.
    if (answer.redirected) return location.reload();
    if (!answer.ok && answer.status !== 304) throw new TypeError("no page");
    showRefreshed("Live");
    showLost(false);
    if (answer.status === 304) return;
    const fresh = await parse(answer);
    [refreshed, etag] = [address, answer.headers.get("etag") ?? ""];
    document.title = fresh.title;
    const parts = all("[data-live]");
    // As after the first call.
    if (parts.some(({ id }) => !fresh.getElementById(id))) return void show(location.href, false);
    for (const part of parts) {
      const next = fresh.getElementById(part.id);
      // Not while it has the focus.
      if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue;
      carryOver(part, next, true);
      part.replaceChildren(...next.childNodes);
    }
    prepare();
  } catch {
    // An event source reports it itself.
    showRefreshed("Not connected");
    showLost(true);
  } finally {
    pauseMs = Math.max(LIVE_PAUSE_MS, 10 * (performance.now() - began));
  }
};
/** Says whether a page without events is current. @param {string} text */
const showRefreshed = (text) => {
  const live = byId("live");
  if (live?.dataset.refresh && live.textContent !== text) live.textContent = text;
};
/** Since when the page has lost its server; 0: it has not. */
let lostAt = 0;
/** Says how old the figures may be, in place of the state of metering. @param {boolean} isLost */
const showLost = (isLost) => {
  lostAt = isLost ? lostAt || Date.now() : 0;
  const [state, stale] = [byId("state"), byId("stale")];
  if (!state || !stale) return;
  state.hidden = isLost;
  stale.hidden = !isLost;
  const minutes = Math.floor((Date.now() - lostAt) / 60_000);
  stale.textContent = `Not connected for ${minutes < 1 ? "less than a minute" : `${minutes} min`}: these figures may be old.`;
};
const soon = () => {
  if (waiting || document.hidden) return;
  waiting = true;
  setTimeout(refresh, pauseMs);
};
/** @type {EventSource | null} */
let events = null;
const connect = () => {
  const live = byId("live");
  const address = live?.dataset.events;
  if (!live || !address || events || document.hidden) return;
  const source = (events = new EventSource(address));
  for (const name of ["request", "limit.warning", "limit.reset"]) source.addEventListener(name, soon);
  source.addEventListener("open", () => {
    live.textContent = "Live";
    if (lostAt) soon();
  });
  source.addEventListener("error", () => {
    live.textContent = "Not connected";
    showLost(true);
    // After a response other than 200 the browser does not try again.
    if (source.readyState !== EventSource.CLOSED) return;
    events = null;
    setTimeout(connect, RECONNECT_MS);
  });
};
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    events?.close();
    events = null;
  } else {
    connect();
    soon();
  }
});

/** Shows what needs this script. */
const prepare = () => {
  const hasChart = document.querySelector("figure.chart svg");
  for (const each of all("[data-script]")) each.hidden = !hasChart && !!each.dataset.picture;
  const keys = byId("keys");
  if (keys) keys.textContent = `Keyboard shortcuts: ${areKeysOff ? "off" : "on"}`;
};
const first = byId("main");
if (first) history.replaceState(null, "", shortAddress(first, location.href));
shown = viewAddress();
prepare();
connect();
const refreshMs = Number(byId("live")?.dataset.refresh);
if (refreshMs > 0) setInterval(soon, refreshMs);
