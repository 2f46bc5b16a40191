/**
 * Lets axe judge two of the parts that repeat: rows of a table, options of a field, and shapes of a chart. Parts with the same form as two
 * earlier ones are out of the document while axe runs. The form is all that a rule depends on: elements, attributes, and which texts and
 * names are empty. The length of a short text in a link or button is part of it too, since it makes the target small.
 *
 * Runs in the page. Defines `window.removeRepeated()`, which returns a function that puts the parts back.
 */
export const REMOVE_REPEATED = `window.removeRepeated = (() => {
  /** Attributes of whose value only matters whether it is empty. */
  const VALUES = new Set([
    ...["href", "value", "datetime", "title", "aria-label"],
    ...["d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "transform"],
  ]);
  /** Longer texts make a target wide enough, in characters. */
  const SHORT = 4;

  /** Returns a function that tells whether only one element has an id, and only addresses name it. */
  function readIds() {
    const counts = new Map();
    const named = new Set();
    for (const element of document.querySelectorAll("*"))
      for (const { name, value } of element.attributes)
        if (name === "id") counts.set(value, (counts.get(value) ?? 0) + 1);
        else if (!VALUES.has(name)) for (const word of value.split(" ")) named.add(word);
    return (id) => counts.get(id) === 1 && !named.has(id);
  }

  function formOf(element, isPlainId, isInTarget = false) {
    const isTarget = isInTarget || ["A", "a", "BUTTON", "SUMMARY"].includes(element.nodeName);
    const attributes = [...element.attributes].map(({ name, value }) =>
      VALUES.has(name) || name.startsWith("data-") || (name === "id" && isPlainId(value))
        ? name + (value.trim() === "" ? " is empty" : "")
        : name + "=" + value);
    const children = [...element.childNodes].map((node) => {
      if (node.nodeType === Node.ELEMENT_NODE) return formOf(node, isPlainId, isTarget);
      const length = node.nodeType === Node.TEXT_NODE ? node.data.trim().length : 0;
      return length === 0 ? "" : isTarget && length <= SHORT ? String(length) : "text";
    });
    return [element.nodeName, ...attributes.sort(), "(", ...children, ")"].join(" ");
  }

  return () => {
    const isPlainId = readIds();
    const removed = [];
    for (const parent of document.querySelectorAll("tbody, select, datalist, svg, svg g")) {
      if (parent.querySelector("[rowspan]") !== null) continue;
      const counts = new Map();
      for (const element of parent.children) {
        const form = formOf(element, isPlainId);
        counts.set(form, (counts.get(form) ?? 0) + 1);
        if (counts.get(form) > 2) removed.push({ element, parent, next: element.nextSibling });
      }
    }
    for (const { element } of removed) element.remove();
    return () => {
      for (const { element, parent, next } of removed.toReversed()) parent.insertBefore(element, next);
    };
  };
})()`;
