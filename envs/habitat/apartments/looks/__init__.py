"""How the surfaces of an apartment look: textures drawn by formula, and the views from its windows."""
