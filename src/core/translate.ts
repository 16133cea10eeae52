/** Says an English text in the user's language, `{0}`, `{1}` ... filled in: `vscode.l10n.t` in the editor, the page's `t` there. */
export type Translate = (message: string, ...values: (string | number)[]) => string;

/** English, for the terminal, tests and tools. */
export const english: Translate = (message, ...values) =>
  message.replace(/\{(\d+)\}/g, (placeholder, index: string) => String(values[Number(index)] ?? placeholder));
