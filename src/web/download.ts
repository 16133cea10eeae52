import { fromBase64 } from './link';

/** Has the browser save a text; of a PNG its bytes in base64. */
export function download(name: string, mime: string, text: string): void {
  const content = mime === 'image/png' ? fromBase64(text) : text;
  const url = URL.createObjectURL(new Blob([content], { type: mime }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name.replace(/[^\p{L}\p{N} ._-]+/gu, '-').replace(/^\.+/, '');
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
