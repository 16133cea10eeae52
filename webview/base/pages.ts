/** One page of a long list: rows `first` to `end - 1` of `total`. */
export interface Page {
  readonly first: number;
  readonly end: number;
  readonly total: number;
}

/** The page of `size` rows that holds `index`; an index past the end gives the last page. */
export function pageAround(index: number, total: number, size: number): Page {
  const last = Math.max(0, Math.ceil(total / size) - 1);
  const first = Math.min(last, Math.max(0, Math.floor(index / size))) * size;
  return { first, end: Math.min(total, first + size), total };
}
