/**
 * Lets axe's rule `color-contrast` evaluate each distinct case once. A case is all that the result depends on: the text's colour, size and
 * weight, and the backgrounds, opacities and layers of its ancestors. It is recorded only when the text passed, so each text that fails is
 * reported. A text that something other than an ancestor lies behind or over has no case, and is always evaluated.
 *
 * Runs in the page, after axe. Defines `window.contrasts`: `passed` are the cases that passed, `start()` begins a run.
 */
export const REMEMBER_CONTRASTS = `(() => {
  const passed = new Set();
  const rule = axe._audit.rules.find(({ id }) => id === "color-contrast");
  const check = axe._audit.checks["color-contrast"];
  const { matches } = rule;
  const { evaluate } = check;
  const GRAPHICS = ["IMG", "CANVAS", "OBJECT", "IFRAME", "VIDEO", "SVG"];
  /** Both are those of one run. */
  let grounds = null;
  let cases = new Map();

  /** Returns the backgrounds below each element, and the elements that have a background. */
  function findGrounds() {
    const chains = new Map();
    const owners = [];
    for (const element of document.querySelectorAll("*")) {
      const { backgroundColor, backgroundImage, opacity, mixBlendMode, zIndex } = getComputedStyle(element);
      const isGraphic = GRAPHICS.includes(element.nodeName.toUpperCase());
      const isGround = isGraphic || backgroundImage !== "none" || backgroundColor !== "rgba(0, 0, 0, 0)";
      const layer = [opacity, mixBlendMode, zIndex].join(" ");
      const own = isGround || layer !== "1 normal auto"
        ? [isGraphic ? element.nodeName : "", backgroundColor, backgroundImage, layer].join(" ") + "/"
        : "";
      chains.set(element, (chains.get(element.parentElement) ?? "") + own);
      const box = isGround ? element.getBoundingClientRect() : null;
      if (box !== null && box.width > 0 && box.height > 0) owners.push({ element, box });
    }
    return { chains, owners };
  }

  const hasText = (element) => {
    for (let node = element.firstChild; node !== null; node = node.nextSibling)
      if (node.nodeType === 3 && node.data.trim() !== "") return true;
    return false;
  };

  /** Returns the case of an element's own text; null for elements without any, and for those behind or over something. */
  function findCase(element) {
    if (!hasText(element)) return null;
    grounds ??= findGrounds();
    const range = document.createRange();
    range.selectNodeContents(element);
    const box = range.getBoundingClientRect();
    const lies = (other) =>
      other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top;
    if (grounds.owners.some(({ element: other, box }) => lies(box) && !other.contains(element))) return null;
    const style = getComputedStyle(element);
    return [
      ...[grounds.chains.get(element), style.color, style.fontSize, style.fontWeight, style.textShadow],
      ...[style.webkitTextFillColor, style.webkitTextStrokeColor, style.webkitTextStrokeWidth],
    ].join(" ");
  }
  const caseOf = (element) => {
    if (!cases.has(element)) cases.set(element, findCase(element));
    return cases.get(element);
  };

  rule.matches = function (node, ...rest) {
    // Fields show a text that is no child.
    const canMatch = hasText(node) || ["INPUT", "SELECT", "TEXTAREA"].includes(node.nodeName);
    return canMatch && !passed.has(caseOf(node)) && matches.call(this, node, ...rest);
  };
  check.evaluate = function (node, ...rest) {
    if (passed.has(caseOf(node))) return true;
    let ratio;
    const data = (value) => {
      ratio = value.messageKey ? undefined : value.contrastRatio;
      this.data(value);
    };
    const result = evaluate.call(Object.create(this, { data: { value: data } }), node, ...rest);
    // A hidden text, and one whose background is unknown, have no ratio.
    if (result === true && ratio !== undefined && caseOf(node) !== null) passed.add(caseOf(node));
    return result;
  };
  window.contrasts = {
    passed,
    start() {
      grounds = null;
      cases = new Map();
    },
  };
})()`;
