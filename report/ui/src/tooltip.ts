import type { Request } from "./data";
import { el } from "./dom";
import { facts } from "./requests";

// One box for all. What it says is in the request list or in a table, too, so
// nothing is lost to those who do not point.
const box = el("div", { class: "tooltip", "aria-hidden": "true", hidden: true });

/** show puts what is known of a request beside the pointer. */
export const show = (request: Request, event: PointerEvent): void => {
  say(facts(request), event);
};

/** say puts names and values beside the pointer. */
export function say(pairs: [name: string, value: string][], event: PointerEvent): void {
  if (!box.isConnected) document.body.append(box);
  box.replaceChildren(...pairs.flatMap(([name, value]) => [el("span", {}, name), el("span", {}, value)]));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const x = event.clientX + 14 + width > innerWidth ? Math.max(4, event.clientX - 14 - width) : event.clientX + 14;
  const y = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4));
  box.style.transform = `translate(${x}px, ${y}px)`;
}

export function hide(): void {
  box.hidden = true;
}
