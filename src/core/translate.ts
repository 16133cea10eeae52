/** Fills `{0}`, `{1}` ... of an English text, which it may translate: `vscode.l10n.t` in the editor, `english` elsewhere. */
export type Translate = (message: string, ...values: (string | number)[]) => string;

export const english: Translate = (message, ...values) =>
  message.replace(/\{(\d+)\}/g, (placeholder, index: string) => String(values[Number(index)] ?? placeholder));
