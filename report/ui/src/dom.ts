type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

/** el makes an element. A function is a listener ("onclick"), true an attribute without a value; a style works under a policy that forbids style attributes, too. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fit(element, attributes, children);
  return element;
}

/** svg makes an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fit(element, attributes, children);
  return element;
}

function fit(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "style") (element as HTMLElement | SVGElement).style.cssText = String(value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((c) => c !== null && c !== false));
}

/** scrolling is a box in which something too wide scrolls by itself; it can be reached by keyboard. */
export function scrolling(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

/** chooser lets the reader choose one of several things, and calls chosen with it; null if there is no choice. */
export function chooser<T>(id: string, legend: string, all: T[], first: T | null, name: (one: T) => string, chosen: (one: T) => void): HTMLElement | null {
  if (all.length < 2) return null;
  return el("fieldset", { class: "chooser" },
    el("legend", {}, legend),
    ...all.map((one) => el("label", {}, el("input", { type: "radio", name: id, checked: one === first, onchange: () => { chosen(one); } }), el("span", {}, name(one)))));
}

const late = new Map<Element, () => void>();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) run(entry.target);
  },
  { rootMargin: "600px", scrollMargin: "600px" } as IntersectionObserverInit, // the latter for what scrolls within the page
);

function run(target: Element): void {
  const draw = late.get(target);
  late.delete(target);
  watcher.unobserve(target);
  draw?.();
}

/** whenNear draws when the reader comes near the element, or before printing: a study can hold hundreds of charts. */
export function whenNear(element: Element, draw: () => void): void {
  late.set(element, draw);
  watcher.observe(element);
}

/** drawNow draws at once what was to be drawn when the reader comes near the element. */
export function drawNow(element: Element): void {
  if (late.has(element)) run(element);
}

/** drawn reports whether the element has been drawn. */
export const drawn = (element: Element): boolean => !late.has(element);

/** drawAll draws what the reader has not come near yet. */
export function drawAll(): void {
  for (const element of [...late.keys()]) run(element);
}
