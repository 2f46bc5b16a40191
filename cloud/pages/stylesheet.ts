import { BASE_STYLE } from "../../pages/base-style.ts";

/** The path of the stylesheet. */
export const STYLESHEET_PATH = "/pages.css";

/** The stylesheet of the cloud's pages. */
export const STYLESHEET = `${BASE_STYLE}
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
main.card > section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem 1.5rem 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .25rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .75rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.hint { color: var(--quiet); font-size: .875rem; margin: .5rem 0 0; }
form + p, form + form { margin-top: 1rem; }
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
.providers button { display: block; width: 100%; margin-top: .75rem; }
form.beside { margin-top: 1.25rem; padding-top: .5rem; border-top: 1px solid var(--line); }
button.plain { background: transparent; color: var(--accent); border-color: transparent; padding: .25rem .5rem; font-weight: 400;
  white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 1rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.head nav { margin-left: -.6rem; }
.head nav a[aria-current] { background: var(--card); }
dl + .notice { margin: 0 0 1rem; }
.tiles dd.long { font-size: 1.05rem; line-height: 2.05; }
ul.places { list-style: none; padding: 0; margin: 0; }
ul.places li { border-bottom: 1px solid var(--line); padding: .6rem 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  header, main { padding-left: .9rem; padding-right: .9rem; }
  main.card > section { padding: 1rem; }
  .tiles dd.long { font-size: .9rem; }
}
`;
