import { BASE_STYLE } from "../../pages/base-style.ts";

/** The stylesheet of the local page. It loads no external fonts or images. */
export const pageStyle = `${BASE_STYLE}
body { font-size: 15px; }
header, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 14px; padding-top: 22px; padding-bottom: 14px; }
h1 { font-size: 20px; margin: 0; letter-spacing: -0.01em; }
h1 a { color: inherit; text-decoration: none; }
h2 { font-size: 15px; margin: 0; }
h3 { font-size: 14px; margin: 16px 0 4px; }
.state { display: inline-flex; align-items: center; gap: 7px; font-weight: 600; color: var(--good); }
.state::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: currentColor; }
.state.bad { color: var(--bad); }
.where { color: var(--quiet); }
.live { margin-left: auto; color: var(--quiet); font-size: 13px; }
.panel > .head { margin-bottom: 12px; }
#recent > :last-child { margin-bottom: 0; }
.tiles .note { color: var(--quiet); font-size: 13px; font-weight: 400; line-height: 1.5; }
.notice { padding: 12px 18px; margin: 0 0 16px; border-radius: 12px; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px; white-space: nowrap; list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: 3px 10px; border-radius: 7px; text-decoration: none; color: var(--quiet); }
nav a:hover { background: var(--bar-soft); color: var(--text); }
nav a[aria-current] { background: var(--bar-soft); color: var(--text); font-weight: 600; }
.narrow { display: none; }
.when { white-space: nowrap; font-variant-numeric: tabular-nums; }
#gaps .number, #gaps .when { width: 1%; }
.share { width: 90px; }
.share svg { display: block; width: 100%; height: 8px; }
.share .rest { fill: var(--bar-soft); }
.share .part { fill: var(--bar); }
.share .now { fill: var(--text); }
.failed { color: var(--bad); }
tr.new { animation: arrive 2.5s ease-out; }
@keyframes arrive { from { background: var(--bar-soft); } }
@media (prefers-reduced-motion: reduce) { tr.new { animation: none; } }
.notice ul, .plain { margin: 6px 0 0; padding-left: 20px; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--quiet); font-size: 13px; padding-bottom: 32px; }
tfoot th, tfoot td { font-weight: 600; }
@media (max-width: 640px) {
  header, main, footer { padding-left: 12px; padding-right: 12px; }
  #recent .number, #gaps .number { padding-right: 0; }
  .wide { display: none; } .narrow { display: block; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: 8px; }
  nav ul { gap: 0; } nav a { padding: 3px 8px; }
}
`;
