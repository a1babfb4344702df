// The address after # is the state of the page: what is shown, and how.

/** A Route names a page and how it is shown. */
export interface Route {
  path: string[];
  query: Record<string, string>;
}

/** parseRoute reads the part of an address after #. What cannot be decoded is taken as it stands. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter((p) => p !== "").map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** link writes the address of a page, for an href. What the query has empty is left out. */
export function link(path: (string | number)[], query: Record<string, string | undefined> = {}): string {
  const words = new URLSearchParams(Object.entries(query).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== "")).toString();
  return `#/${path.map((p) => encodeURIComponent(p)).join("/")}${words === "" ? "" : "?" + words}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
