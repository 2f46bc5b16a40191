/**
 * The styles that all pages share: colours by role for light and dark, text, panels, tiles, tables and the cost chart. A host
 * appends its own. Text has a contrast of at least 4.5:1. No fonts or images are loaded.
 */
export const BASE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --text: #16191d; --quiet: #5a6370; --line: #d9dde3;
  --accent: #0b5cad; --accent-text: #ffffff; --bar: #3b82c4; --bar-plan: #8fb8a0; --bar-unknown: #b9bec7; --bar-soft: #e3edf6; --good: #14602b; --good-ground: #e7f6ec;
  --warn: #7a4f00; --warn-ground: #fdf3dd; --bad: #8a1f11; --bad-ground: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101317; --card: #191d23; --text: #e8eaed; --quiet: #a0a9b5; --line: #313842;
    --accent: #7ab7f0; --accent-text: #0c1520; --bar: #4f97d8; --bar-plan: #5d8a70; --bar-unknown: #6b7280; --bar-soft: #24384b; --good: #9ddfb0; --good-ground: #14301d;
    --warn: #e8b756; --warn-ground: #33290f; --bad: #ffb4a8; --bad-ground: #3a1a16;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .5rem 1rem; }
.skip:focus { left: .5rem; top: .5rem; }
.quiet { color: var(--quiet); }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.15rem; margin: 0 0 1rem; min-width: 0; }
.panel > :last-child { margin-bottom: 0; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .4rem 1rem; }
.notice { background: var(--warn-ground); color: var(--warn); padding: .6rem .8rem; border-radius: 6px; }
.notice.bad { background: var(--bad-ground); color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; margin: 0 0 1rem; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .9rem 1.1rem; min-width: 0; }
.tiles dt { color: var(--quiet); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.6rem; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; align-items: start; }
.chart { margin: 0; }
.plot { display: grid; grid-template-columns: auto 1fr; gap: 10px; }
.scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; color: var(--quiet); font-size: 12px; line-height: 1; font-variant-numeric: tabular-nums; min-width: 44px; margin: -6px 0; }
.plot svg { width: 100%; height: 200px; display: block; overflow: visible; }
.grid { stroke: var(--line); stroke-width: 1; fill: none; }
.bar rect { fill: var(--bar); }
.bar .plan { fill: var(--bar-plan); }
.bar .unknown { fill: var(--bar-unknown); }
.bar .slot { fill: transparent; }
.bar:hover .slot { fill: var(--bar-soft); }
.dates { display: flex; justify-content: space-between; color: var(--quiet); font-size: 12px; grid-column: 2; }
@media (max-width: 640px) { .plot svg { height: 150px; } }
.legend { list-style: none; margin: 8px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; }
.legend li::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 6px; background: var(--bar); }
.legend .plan::before { background: var(--bar-plan); }
.legend .unknown::before { background: var(--bar-unknown); }
@media (forced-colors: active) { .bar rect:not(.slot) { fill: CanvasText; } }
details { margin-top: 10px; }
summary { cursor: pointer; color: var(--quiet); font-size: .85rem; width: fit-content; }
pre { margin: 10px 0; padding: 12px 14px; border-radius: 8px; background: var(--ground); border: 1px solid var(--line); overflow-x: auto; }
code, pre { font: 13.5px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: 7px 14px 7px 0; border-top: 1px solid var(--line); vertical-align: baseline; font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { border-top: 0; padding-top: 0; color: var(--quiet); font-size: .8rem; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { overflow-wrap: anywhere; }
@media (max-width: 860px) { .tiles { grid-template-columns: 1fr 1fr; } .pair { grid-template-columns: 1fr; } }
@media (max-width: 640px) {
  .tiles { gap: .6rem; } .tiles > div { padding: .65rem .85rem; } .tiles dd { font-size: 1.3rem; }
  .panel { padding: .85rem; }
}
`.trimStart();
