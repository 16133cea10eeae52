/**
 * The same plain data with every typed-array view that looks at part of a larger buffer replaced by a tight copy: posting a view to a webview would drag
 * its whole buffer along (microsoft/vscode#178719).
 */
export function transferable<T>(value: T): T {
  return tight(value) as T;
}

function tight(value: unknown): unknown {
  if (value instanceof Uint8Array || value instanceof Uint32Array || value instanceof Float64Array)
    return value.byteLength === value.buffer.byteLength ? value : value.slice();
  if (Array.isArray(value)) return value.map(tight);
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value as Record<string, unknown>).map(([key, entry]) => [key, tight(entry)]));
  return value;
}
