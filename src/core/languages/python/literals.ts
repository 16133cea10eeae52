import type { PythonPlain } from './values';

/** The value of a number or of strings; null for what is neither plain text nor a finite number. */
export function parseLiteral(kind: string, text: string): PythonPlain {
  if (kind === 'Number') {
    const value = /^[\w.+-]{1,40}$/.test(text) ? Number(text.replaceAll('_', '')) : NaN;
    return Number.isFinite(value) ? value : null;
  }
  const parts = [...text.matchAll(/([rRuU]?)("""|'''|"|')([\s\S]*?)\2/g)].map(([, , , inner = '']) => inner);
  return parts.length === 0 || text.includes('\\') || text.length > 10_000 ? null : parts.join('');
}
