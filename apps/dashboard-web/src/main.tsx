import './styles.js';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { attendance } from './api.js';
import { queryClient } from './queries.js';
import { router } from './router.js';
import { theme } from './theme.js';

/** Of this page: style elements without it are blocked. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// The package that locks the page's scrolling below a dialog reads it here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

attendance.watch(window);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no element #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
