/** The local page's style: no colour, font or picture comes from elsewhere. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f6f4; --card: #ffffff; --ink: #1a1b1e; --soft: #5c6068; --line: #e3e3df;
  --accent: #2563c9; --bar: #4a7fd8; --bar-soft: #e4ecfa; --good: #1c7a45; --bad: #b3261e; --bad-ground: #fdeceb;
  --warn: #8a5a00; --warn-ground: #fdf3dd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121316; --card: #1a1c20; --ink: #ececee; --soft: #9da3ad; --line: #2c2f36;
    --accent: #86b1ff; --bar: #6b9cf2; --bar-soft: #263450; --good: #5ecb8d; --bad: #ff8f87; --bad-ground: #3a1d1c;
    --warn: #e8b756; --warn-ground: #33290f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; top: 8px; background: var(--card); padding: 8px 12px; }
.skip:focus { left: 8px; }
header, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 14px; padding-top: 22px; padding-bottom: 14px; }
h1 { font-size: 20px; margin: 0; letter-spacing: -0.01em; }
h1 a { color: inherit; text-decoration: none; }
h2 { font-size: 15px; margin: 0; }
.state { display: inline-flex; align-items: center; gap: 7px; font-weight: 600; color: var(--good); }
.state::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: currentColor; }
.state.bad { color: var(--bad); }
.where { color: var(--soft); }
.live { margin-left: auto; color: var(--soft); font-size: 13px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px; margin: 0 0 16px; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 6px 16px; margin-bottom: 12px; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px; white-space: nowrap; list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: 3px 10px; border-radius: 7px; text-decoration: none; color: var(--soft); }
nav a:hover { background: var(--bar-soft); color: var(--ink); }
nav a[aria-current] { background: var(--bar-soft); color: var(--ink); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; margin-bottom: 16px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 14px 18px; min-width: 0; }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 0; }
.tile .value { font-size: 26px; font-weight: 650; letter-spacing: -0.02em; line-height: 1.3; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tile .note { color: var(--soft); font-size: 13px; }
dl.tiles { margin-top: 0; }
.card > :last-child, #recent > :last-child { margin-bottom: 0; }
.chart { margin: 0; }
.plot { display: grid; grid-template-columns: auto 1fr; gap: 10px; }
.scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; color: var(--soft); font-size: 12px; line-height: 1; font-variant-numeric: tabular-nums; min-width: 44px; margin: -6px 0; }
.plot svg { width: 100%; height: 200px; display: block; overflow: visible; }
.grid { stroke: var(--line); stroke-width: 1; fill: none; }
.bar rect { fill: var(--bar); }
.bar .slot { fill: transparent; }
.bar:hover .slot { fill: var(--bar-soft); }
.dates { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; padding: 8px 0 0 54px; }
details { margin-top: 10px; }
summary { cursor: pointer; color: var(--soft); font-size: 13px; width: fit-content; }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 0 16px; align-items: start; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th, td { text-align: left; padding: 7px 14px 7px 0; border-top: 1px solid var(--line); vertical-align: baseline; font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { border-top: 0; color: var(--soft); font-size: 12.5px; padding-top: 0; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { overflow-wrap: anywhere; }
.narrow { display: none; }
.soft { color: var(--soft); }
.when { white-space: nowrap; font-variant-numeric: tabular-nums; }
.share { width: 90px; }
.share svg { display: block; width: 100%; height: 8px; }
.share .rest { fill: var(--bar-soft); }
.share .part { fill: var(--bar); }
.failed { color: var(--bad); }
tr.new { animation: arrive 2.5s ease-out; }
@keyframes arrive { from { background: var(--bar-soft); } }
@media (prefers-reduced-motion: reduce) { tr.new { animation: none; } }
.notice { border-radius: 12px; padding: 12px 18px; margin: 0 0 16px; background: var(--warn-ground); color: var(--warn); }
.notice.bad { background: var(--bad-ground); color: var(--bad); }
.notice ul, .plain { margin: 6px 0 0; padding-left: 20px; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 10px 0; padding: 12px 14px; border-radius: 8px; background: var(--ground); border: 1px solid var(--line); overflow-x: auto; }
code, pre { font: 13.5px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
footer { color: var(--soft); font-size: 13px; padding-bottom: 32px; }
tfoot th, tfoot td { font-weight: 600; }
@media (max-width: 860px) { .tiles { grid-template-columns: 1fr 1fr; } .columns { grid-template-columns: 1fr; } }
@media (max-width: 640px) {
  header, main, footer { padding-left: 12px; padding-right: 12px; }
  .tiles { gap: 10px; } .tile { padding: 10px 14px; } .tile .value { font-size: 21px; }
  .card { padding: 14px; }
  #recent .number { padding-right: 0; }
  .wide { display: none; } .narrow { display: block; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: 8px; }
  nav ul { gap: 0; } nav a { padding: 3px 8px; }
  .plot svg { height: 150px; }
}
`;
