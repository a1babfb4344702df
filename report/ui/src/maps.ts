import { at, type Data, type RatioMap } from "./data";
import { chooser, el, whenNear } from "./dom";
import { heatMap } from "./heatmap";
import { spotsOf } from "./spots";

/** mapsView draws how ratios change over two numbers: a heat map for each panel and each line but the one that all are divided by; null if the study has no two such numbers. */
export function mapsView(data: Data): HTMLElement | null {
  const all = data.maps ?? [];
  const first = all[0];
  if (first === undefined) return null;
  const box = el("div");
  const show = (map: RatioMap): void => {
    box.replaceChildren(...mapView(data, map).filter((e) => e !== null));
  };
  show(first);
  return el("section", { id: "maps" },
    el("h2", {}, all.length === 1 ? nameOf(first, "Ratios by") : "Ratios by two numbers"),
    chooser("map", "Over", all, first, (m) => nameOf(m), show),
    box);
}

const nameOf = (map: RatioMap, before = ""): string => `${before} ${map.along.name} and ${map.against.name}`.trim();

function mapView(data: Data, map: RatioMap): (HTMLElement | null)[] {
  const metrics = map.metrics.flatMap((name, index) => {
    const metric = data.metrics.find((m) => m.name === name);
    return metric !== undefined && map.panels.some((p) => p.spots.some((s) => s.metric === index)) ? [{ index, title: metric.title }] : [];
  });
  const labels = map.labels.map((label, index) => ({ label, index }));
  let metric = at(metrics, 0);
  let baseline = at(labels, 0);
  const charts = el("div", { class: "panels" });
  const draw = (): void => {
    charts.replaceChildren(...map.panels.flatMap((panel) => labels.filter((l) => l !== baseline).flatMap(({ label, index }) => {
      const spots = spotsOf(panel.spots, metric.index, index, baseline.index);
      if (spots.length === 0) return [];
      const box = el("div", { class: "chart" });
      whenNear(box, () => {
        box.replaceChildren(heatMap({
          title: `Ratio of median ${metric.title}`, name: `${label} to ${baseline.label}`, along: map.along, against: map.against, spots, width: Math.max(280, Math.min(640, box.clientWidth || 480)),
        }));
      });
      return [el("figure", {}, el("figcaption", {}, el("b", {}, [`${label} to ${baseline.label}`, panel.name].filter(Boolean).join(", "))), box)];
    })));
  };
  draw();
  return [
    chooser("map-metric", "Time to compare", metrics, metric, (m) => m.title, (m) => {
      metric = m;
      draw();
    }),
    chooser("map-baseline", "Compared with", labels, baseline, (l) => l.label, (l) => {
      baseline = l;
      draw();
    }),
    el("p", {}, "Each cell has the ratio of two medians, with its 95 % interval below: blue where it is below 1, orange where it is above. A ratio in parentheses, in a dashed frame, is not decided: its interval holds 1, or there are fewer than six loads on a side."),
    charts,
  ];
}
