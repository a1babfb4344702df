/** csv writes rows as RFC 4180 has them, with signs that spreadsheets and programs read: a plain minus, and no spaces within numbers. */
export function csv(rows: string[][]): string {
  return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
}

function field(text: string): string {
  const plain = text.replace(/(?<=\d)\u202f(?=\d)/g, "").replaceAll("\u2212", "-").replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();
  // As `wiretime export csv` does: no spreadsheet may take words for a formula.
  const safe = /^[=+\-@\t\r＝＋－＠]/.test(plain) && !/^-?\d+(\.\d+)?$/.test(plain) ? "'" + plain : plain;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** fileName makes a file's name of words. */
export const fileName = (words: string, ending: string): string => `${words.toLowerCase().replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "wiretime"}.${ending}`;
