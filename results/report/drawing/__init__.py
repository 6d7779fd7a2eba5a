"""What all drawings share: SVG, shapes that carry a meaning, the frame of lanes."""
