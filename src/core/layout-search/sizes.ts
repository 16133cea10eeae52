import type { Layout } from '../domain/request';

/** A layout except for its virtual stages. */
export type Sizes = Omit<Layout, 'virtualStages'>;
