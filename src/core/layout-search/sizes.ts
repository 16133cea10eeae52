import type { Layout } from '../spec/request';

/** A layout but for its virtual stages. */
export type Sizes = Omit<Layout, 'virtualStages'>;
