import { printable } from '../../text';
import { escapeXml } from '../svg';

/** Text from outside as content of an element: markup escaped, invisible characters written out. */
export function text(written: string): string {
  return escapeXml(printable(written));
}

/** An element around content that is markup already. */
export function element(name: string, content: string, className = ''): string {
  return `<${name}${className === '' ? '' : ` class="${className}"`}>${content}</${name}>`;
}

/** A row of a table; cells are markup already. */
export function row(cells: readonly string[], className = '', cell: 'td' | 'th' = 'td'): string {
  return element(
    'tr',
    cells.map((content) => (cell === 'th' ? `<th scope="col">${content}</th>` : element('td', content))).join(''),
    className,
  );
}

/** A section under a heading. */
export function section(title: string, content: string): string {
  return `<section>\n${element('h2', text(title))}\n${content}\n</section>`;
}
