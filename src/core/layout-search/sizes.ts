import type { Layout } from '../domain/request';

/** A layout but for its virtual stages. */
export type Sizes = Omit<Layout, 'virtualStages'>;
