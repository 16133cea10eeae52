/** `vscode.l10n.t` for the pure parts of this folder: the English text with `{0}`, `{1}` ... filled in, in the user's language. */
export type Translate = (message: string, ...values: (string | number)[]) => string;

/** English, for tests and tools. */
export const english: Translate = (message, ...values) =>
  message.replace(/\{(\d+)\}/g, (placeholder, index: string) => String(values[Number(index)] ?? placeholder));
