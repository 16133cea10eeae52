let translations: ReadonlyMap<string, string> = new Map();

/** Takes the translations that the host wrote into the page: English text to text. What is missing or no text stays English. */
export function useStrings(json: string | undefined): void {
  if (json === undefined || json === '') return;
  const given: unknown = JSON.parse(json);
  if (typeof given !== 'object' || given === null) return;
  translations = new Map(Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** An English text in the user's language, `{0}`, `{1}` ... replaced by `values`. */
export function t(english: string, ...values: readonly (string | number)[]): string {
  const text = translations.get(english) ?? english;
  return text.replace(/\{(\d+)\}/g, (whole, index: string) => String(values[Number(index)] ?? whole));
}
