/** Last part of a file's identity, for a sentence. */
export function fileName(file: string): string {
  return decodeURIComponentOr(file.slice(file.lastIndexOf('/') + 1));
}

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
