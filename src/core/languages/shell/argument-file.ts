import type { FlatWord, Piece, Site } from './words';

/**
 * The words of a file of arguments: quotes group, `#` starts a comment, a backslash at the end of a line means nothing. `$X` is known to
 * nobody.
 */
export function argumentWords(text: string): readonly FlatWord[] {
  const words: FlatWord[] = [];
  for (const match of text.matchAll(/#[^\n]*|"[^"\n]*"|'[^'\n]*'|(?:[^\s"'#]|(?<=\S)#)+(?:"[^"\n]*"|'[^'\n]*')?|["']/g)) {
    const [token] = match;
    if (/^(#|\\$|["']$)/.test(token)) continue;
    words.push(wordOf(token, match.index));
  }
  return words;
}

function wordOf(token: string, start: number): FlatWord {
  const site: Site = { kind: 'element', start, end: start + token.length, outer: null };
  const pieces: Piece[] = [];
  for (const match of token.matchAll(/[^"']+/g)) {
    const text = /[$`]/.test(match[0]) ? null : match[0];
    pieces.push({
      text,
      start: start + match.index,
      end: start + match.index + match[0].length,
      site,
      condition: undefined,
      variable: undefined,
    });
  }
  return pieces.length > 0 ? pieces : [{ text: '', start, end: start + token.length, site, condition: undefined, variable: undefined }];
}
