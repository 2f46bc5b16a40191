import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { html } from "hono/html";
import { renderDocument } from "../../pages/render-document.ts";

describe("renderDocument()", () => {
  it("escapes the title, and renders the parts once each, in order", async () => {
    const text = (
      await renderDocument({
        title: "<b>",
        stylesheetPath: "/page.css",
        head: html`<meta name="robots" content="noindex">`,
        header: html`the header`,
        main: html`the body`,
        mainClass: "card",
        end: html`<footer>the end</footer>`,
      })
    ).toString();
    assert.match(
      text,
      /^<!doctype html>[\s\S]*<title>&lt;b&gt;<\/title>[\s\S]*href="\/page\.css"[\s\S]*noindex[\s\S]*<\/head>/,
    );
    assert.match(
      text,
      /<header>the header<\/header>\s*<main id="main" class="card">the body<\/main>\s*<footer>the end<\/footer>/,
    );
  });

  it("has no script unless a part has one", async () => {
    const parts = { title: "t", stylesheetPath: "/s", header: html`h`, main: html`m` };
    assert.doesNotMatch((await renderDocument(parts)).toString(), /<script/);
  });
});
