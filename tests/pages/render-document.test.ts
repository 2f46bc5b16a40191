import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { html } from "hono/html";
import { renderDocument } from "../../pages/render-document.ts";

describe("renderDocument()", () => {
  it("escapes the title, and renders the parts once each, in order", async () => {
    const text = await renderDocument({
      title: "<b>",
      styles: ["/one.css", "/two.css"],
      head: html`<meta name="author" content="x">`,
      body: html`<main id="main">the body</main>`,
    });
    assert.match(
      text.toString(),
      /^<!doctype html>[\s\S]*<title>&lt;b&gt;<\/title>[\s\S]*href="\/one\.css"[\s\S]*href="\/two\.css"[\s\S]*author[\s\S]*<\/head>[\s\S]*<a class="skip" href="#main">[\s\S]*<main id="main">the body<\/main>/,
    );
  });

  it("has no script unless a part has one", async () => {
    const text = await renderDocument({ title: "t", styles: [], body: html`m` });
    assert.doesNotMatch(text.toString(), /<script/);
  });
});
