/** Where the one stylesheet is. */
export const STYLESHEET_PATH = "/pages.css";

/** Colours by role, for light and dark; everything else is written once. Text has a contrast of 4.5 or more on its ground. */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --text: #16191d; --quiet: #5a6370; --line: #d9dde3;
  --accent: #0b5cad; --accent-text: #ffffff; --bar: #3b82c4; --warn: #8a1f11; --warn-ground: #fdecea;
  --good: #14602b; --good-ground: #e7f6ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101317; --card: #191d23; --text: #e8eaed; --quiet: #a0a9b5; --line: #313842;
    --accent: #7ab7f0; --accent-text: #0c1520; --bar: #4f97d8; --warn: #ffb4a8; --warn-ground: #3a1a16;
    --good: #9ddfb0; --good-ground: #14301d;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .5rem 1rem; }
.skip:focus { left: .5rem; top: .5rem; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.25rem; padding: .75rem 1.25rem;
  background: var(--card); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; letter-spacing: .02em; color: var(--text); text-decoration: none; }
nav { display: flex; flex-wrap: wrap; gap: .25rem; min-width: 0; }
nav a { padding: .25rem .6rem; border-radius: 6px; text-decoration: none; overflow-wrap: anywhere; }
nav a[aria-current] { background: var(--ground); color: var(--text); font-weight: 600; }
.account { margin-left: auto; display: flex; align-items: center; gap: .75rem; }
main { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
main.wide { max-width: 68rem; }
main.card { max-width: 30rem; }
main.card > section, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem 1.5rem 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .25rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .75rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.quiet, .hint { color: var(--quiet); }
.hint { font-size: .875rem; margin: .5rem 0 0; }
form + p, form + form { margin-top: 1rem; }
.notice { background: var(--warn-ground); color: var(--warn); padding: .6rem .8rem; border-radius: 6px; }
.done { background: var(--good-ground); color: var(--good); padding: .6rem .8rem; border-radius: 6px; }
label, legend { display: block; font-weight: 600; margin: 1rem 0 .25rem; padding: 0; }
input[type=text], input[type=email], input[type=password], select { width: 100%; font: inherit; color: inherit;
  background: var(--ground); border: 1px solid var(--quiet); border-radius: 6px; padding: .55rem .7rem; }
input.code { font-family: ui-monospace, monospace; font-size: 1.25rem; letter-spacing: .1em; text-transform: uppercase; }
fieldset { border: 0; padding: 0; margin: 1.25rem 0 0; min-width: 0; }
legend { margin: 0; }
.choice { display: flex; gap: .6rem; align-items: flex-start; font-weight: 400; margin: .5rem 0; }
.choice input { margin: .3rem 0 0; width: 1.05rem; height: 1.05rem; flex: none; accent-color: var(--accent); }
.choice span { white-space: pre-wrap; }
.row { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
.row .choice { margin: .35rem 0; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button, a.button { font: inherit; font-weight: 600; padding: .55rem 1.1rem; border-radius: 6px; border: 1px solid var(--accent);
  background: var(--accent); color: var(--accent-text); cursor: pointer; text-align: center; text-decoration: none;
  overflow-wrap: anywhere; }
button.second, a.button.second { background: transparent; color: var(--text); border-color: var(--quiet); }
.ways button { display: block; width: 100%; margin-top: .75rem; }
form.beside { margin-top: 1.25rem; padding-top: .5rem; border-top: 1px solid var(--line); }
button.plain { background: transparent; color: var(--accent); border-color: transparent; padding: .25rem .5rem; font-weight: 400;
  white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 1rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.head nav { margin-left: -.6rem; }
.head nav a[aria-current] { background: var(--card); }
dl + .notice { margin: 0 0 1rem; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .5rem 1.5rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 1rem; margin: 0 0 1rem; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem; }
.tiles dd { font-size: 1.45rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.tiles dd.long { font-size: 1.05rem; line-height: 2.05; }
.panel { margin-bottom: 1rem; min-width: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 0 1rem; }
svg { display: block; width: 100%; height: 11rem; }
svg rect.bar { fill: var(--bar); }
svg rect.reach { fill: transparent; }
svg g:hover rect.reach { fill: var(--line); fill-opacity: .5; }
.axis { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; color: var(--quiet); font-size: .8125rem; border-top: 1px solid var(--line); padding-top: .35rem; }
details { margin-top: .75rem; }
summary { cursor: pointer; color: var(--accent); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; }
td.number, th.number { text-align: right; padding-right: 0; padding-left: .75rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { overflow-wrap: anywhere; }
ul.places { list-style: none; padding: 0; margin: 0; }
ul.places li { border-bottom: 1px solid var(--line); padding: .6rem 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  header, main { padding-left: .9rem; padding-right: .9rem; }
  main.card > section, .panel { padding: 1rem; }
  .tiles { grid-template-columns: 1fr 1fr; gap: .6rem; }
  .tiles > div { padding: .7rem .8rem; }
  .tiles dd { font-size: 1.2rem; }
  .tiles dd.long { font-size: .9rem; }
}
@media (forced-colors: active) { svg rect.bar { fill: CanvasText; } }
`.trimStart();
