import assert from 'node:assert/strict';
import fc from 'fast-check';
import { marked } from 'marked';
import { describe, it } from 'mocha';
import { markdownParagraphs } from '../../src/extension/language/markdown-text';

/** Pieces that Markdown, GitHub's flavour of it or HTML make something of. */
const markup = fc.constantFrom(
  '*', '_', '**', '`', '```', '~~', '[x](command:workbench.action.quit)', '![x](y)', '<b>', '</p>', '&lt;', '&nbsp;', '# ', '> ', '- ', '1. ', '1) ',
  '    ', '\t', ' ', '  ', '\n', '\r\n', '\n\n', '---', '===', '| a | b |', '|-|-|', 'https://example.com/a', 'www.example.com', 'a@b.example', '\\', '\0', '\u00a0',
  '[ ] ', '[x]: y', '<!--', '<https://example.com>', '$(zap)', ':', '\u001b[31m',
); // prettier-ignore
const text = fc
  .array(fc.oneof(markup, fc.string({ unit: 'grapheme', maxLength: 6 }), fc.lorem({ maxCount: 3 })), { maxLength: 12 })
  .map((pieces) => pieces.join(''));

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The text of HTML that holds nothing but paragraphs and line breaks. @throws where it holds more */
function textOf(html: string): string {
  const plain = html
    .replace(/<br>/g, '\n')
    .replace(/<\/p>\n<p>/g, '\n\n')
    .replace(/^<p>|<\/p>\n$/g, '');
  assert.doesNotMatch(plain, /[<>]/, `markup in ${html}`);
  return plain.replace(/&([^;]+);/g, (_, name: string) => {
    const character = entities[name];
    assert.ok(character !== undefined, `&${name};`);
    return character;
  });
}

/** What is read of a text: its lines, white space in a row being one space. */
function lines(of: string): string[] {
  return of
    .split(/[\r\n]+/)
    .map((line) =>
      line
        .replace(/[^\P{Cc}\s]/gu, '\uFFFD')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '');
}

const render = (source: string): string => marked.parse(source, { async: false, gfm: true });

describe('a text as Markdown', () => {
  it('reads as the text, whatever it holds', () => {
    fc.assert(
      fc.property(text, (written) => assert.deepEqual(lines(textOf(render(markdownParagraphs([written])))), lines(written))),
      { numRuns: 500 },
    );
  });

  it('keeps spaces spaces, so that lines wrap between words', () => {
    fc.assert(
      fc.property(fc.lorem(), (words) => {
        assert.equal(textOf(render(markdownParagraphs([words]))), words);
      }),
    );
    assert.equal(markdownParagraphs(['what the bubble costs, 14.7 %']), 'what the bubble costs\\, 14\\.7 \\%');
  });

  it('makes a paragraph of each text', () => {
    assert.equal(textOf(render(markdownParagraphs(['a *b*', '', 'c\nd']))), 'a *b*\n\nc\nd');
  });
});
