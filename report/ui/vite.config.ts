import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  plugins: [viteSingleFile()],
  build: {
    // The folder's .gitkeep must outlive a build: Go embeds the folder.
    emptyOutDir: false,
    modulePreload: false,
    target: "es2022",
  },
});
